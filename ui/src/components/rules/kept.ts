/** Changed rules that were not saved: they outlive a look at another rule or screen, not the window. */
export interface Kept {
  readonly text: string;
  /** The version that was changed. */
  readonly seen: number;
}

const texts = new Map<string, Kept>();

export const keep = (place: string, text: Kept): void => { texts.set(place, text); };
export const drop = (place: string): void => { texts.delete(place); };
export const keptOf = (place: string): Kept | undefined => texts.get(place);
