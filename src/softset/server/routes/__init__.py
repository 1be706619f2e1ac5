"""The paths under /v1, by what they are about; each turns a request into a call of the library and no more."""
