/**
 * In the place of the form library's Markdown: what an agent writes is text, and nothing on the page reads it as
 * anything else.
 */
export const Markdown = (): null => null;
