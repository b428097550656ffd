/** Scrolling of a box, and nothing around it, until an item within it is in view. */
export function keepInView(
  box: Element | null | undefined,
  item: Element | null | undefined,
): void {
  if (!box || !item || box.scrollHeight <= box.clientHeight) return;
  const frame = box.getBoundingClientRect();
  const { top, bottom } = item.getBoundingClientRect();
  const margin = Math.min(80, box.clientHeight / 4);
  if (top < frame.top) box.scrollTop -= frame.top - top + margin;
  else if (bottom > frame.bottom) box.scrollTop += bottom - frame.bottom + margin;
}
