import os

from hypothesis import HealthCheck, settings

# The same examples every time: a red run must be red again. Shared machines make deadlines meaningless.
settings.register_profile(
    "softset", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("softset"), derandomize=False, max_examples=2000)
# A name that is no model of ours would be looked up on the hub; no test asks the network for anything.
os.environ["HF_HUB_OFFLINE"] = "1"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "softset"))
