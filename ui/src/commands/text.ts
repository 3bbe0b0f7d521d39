/** Whether a key that goes down there is text. */
export const takesText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], [role=textbox]"));
