import { createStore } from "../desk/store";

interface LateFailure {
  /** The question that was answered with yes. */
  readonly title: string;
  readonly why: string;
}

/** What was confirmed and failed once its dialog was closed; null once that was seen. */
export const lateFailure = createStore<LateFailure | null>(null);
