for (const view of document.querySelectorAll("section")) {
  const light = (event, on) => {
    const token = event.target.closest("a[data-to]");
    if (!token) return;
    for (const id of token.dataset.to.split(" "))
      for (const other of view.querySelectorAll(`a[href="#${id}"]`)) other.classList.toggle("lit", on);
  };
  for (const kind of ["mouseover", "focusin"]) view.addEventListener(kind, event => light(event, true));
  for (const kind of ["mouseout", "focusout"]) view.addEventListener(kind, event => light(event, false));
}
