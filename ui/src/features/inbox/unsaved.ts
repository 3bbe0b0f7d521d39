import { createUnsaved } from "../../desk/unsaved";
import type { EditCheck } from "../../ipc/generated";

/** A checked edit that has not been sent. */
export interface Draft {
  readonly json: string;
  readonly check: EditCheck;
}

/** Words that were typed on a card. */
export interface Unsent {
  readonly reason: string;
  readonly answer: string;
  /** None until the form was touched. */
  readonly form: string | null;
}

interface CardWork {
  /** Of the request that it was typed for. */
  readonly requestDigest: string;
  readonly draft: Draft | null;
  /** What is in the editor and was not compared. */
  readonly kept: string | null;
  readonly unsent: Unsent;
}

/** For how long each card was in front and armed while it was open before, ms. */
export const fronts = createUnsaved<number>();

/** By the request's key, for as long as the request waits: what is taken back with Z comes back with its edit. */
export const cardWork = createUnsaved<CardWork>();
