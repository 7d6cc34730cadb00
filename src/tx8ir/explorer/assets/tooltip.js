// One tooltip for all views.

const GAP = 14;

export function showTooltip(event, ...content) {
  const tip = document.getElementById("tooltip");
  tip.replaceChildren(...content.flat(Infinity).filter(Boolean));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + GAP + width > innerWidth ? event.clientX - GAP - width : event.clientX + GAP;
  const y = event.clientY + GAP + height > innerHeight ? event.clientY - GAP - height : event.clientY + GAP;
  tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
}

export function hideTooltip() { document.getElementById("tooltip").hidden = true; }
