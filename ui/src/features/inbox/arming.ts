/**
 * When a card may be approved. Refuses every key or click that did not go down on this very card
 * after it had been still, focused and fully painted for 400 ms. Denying does not ask here.
 */
const STILL_MS = 400;

export interface Arming {
  /** The card and the version of its content that is on screen. */
  readonly identity: string | null;
  /** Since when its content has not changed. */
  readonly stillSince: number | null;
  /** When it was painted whole. */
  readonly paintedAt: number | null;
  /** Since when window and card have the focus; null while they have not. */
  readonly focusedSince: number | null;
}

export const disarmed: Arming = { identity: null, stillSince: null, paintedAt: null, focusedSince: null };

export type ArmingEvent =
  /** A card, or a new version of its content, was put on screen. */
  | { readonly type: "shown"; readonly identity: string | null; readonly at: number }
  /** The frame that holds this version has been painted. */
  | { readonly type: "painted"; readonly identity: string; readonly at: number }
  /** Window and card have gained the focus. */
  | { readonly type: "focused"; readonly at: number }
  /** The window lost the focus, the session was locked, or something covers the card. */
  | { readonly type: "lost" };

export const arm = (state: Arming, event: ArmingEvent): Arming => {
  switch (event.type) {
    case "shown":
      return event.identity === state.identity
        ? state
        : {
            ...state,
            identity: event.identity,
            stillSince: event.identity === null ? null : event.at,
            paintedAt: null,
          };
    case "painted":
      return event.identity === state.identity && state.paintedAt === null ? { ...state, paintedAt: event.at } : state;
    case "focused":
      return state.focusedSince === null ? { ...state, focusedSince: event.at } : state;
    case "lost":
      return state.focusedSince === null ? state : { ...state, focusedSince: null };
  }
};

/** The moment from which a key that goes down counts; null while something is missing. */
export const armedFrom = (state: Arming): number | null =>
  state.identity === null || state.stillSince === null || state.paintedAt === null || state.focusedSince === null
    ? null
    : Math.max(state.stillSince, state.paintedAt, state.focusedSince) + STILL_MS;

/** How long what is on screen is armed and looked at by `at`; 0 while it is not. `seenSince` is null while nobody can. */
export const armedFor = (state: Arming, at: number, seenSince: number | null = 0): number =>
  seenSince === null ? 0 : Math.max(at - Math.max(armedFrom(state) ?? at, seenSince), 0);

/** A key or a pointer that went down. */
export interface Press {
  /** What was on screen when it went down. */
  readonly identity: string | null;
  readonly at: number;
  /** A key that is held down repeats; a repetition is not a press. */
  readonly repeat: boolean;
}

export const mayApprove = (state: Arming, press: Press): boolean => {
  const from = armedFrom(state);
  return from !== null && !press.repeat && press.identity === state.identity && press.at >= from;
};

/** A pointer that went down on the button. */
export interface PointerPress {
  readonly identity: string | null;
  readonly at: number;
  /** When it was let go, wherever that was. */
  readonly upAt: number | null;
}

export const letGoAt = (pointer: PointerPress | null, at: number): PointerPress | null =>
  pointer === null || pointer.upAt !== null ? pointer : { ...pointer, upAt: at };

/**
 * What pressed the button for a click: the pointer whose click it is, also one that went down on other content, else,
 * as with an assistive tool, the click itself. By touch a click may come a moment after the finger has gone.
 */
export const pressOf = (pointer: PointerPress | null, identity: string | null, clickedAt: number): Press => {
  const own = pointer !== null && (pointer.upAt === null || clickedAt - pointer.upAt < STILL_MS);
  return { identity: own ? pointer.identity : identity, at: own ? pointer.at : clickedAt, repeat: false };
};
