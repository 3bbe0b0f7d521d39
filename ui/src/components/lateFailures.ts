import { createStore } from "../desk/store";

interface LateFailure {
  readonly number: number;
  /** What was asked for, as the question that was answered with yes. */
  readonly title: string;
  readonly why: string;
}

/** Whoever was away for long sees the newest. */
const MOST = 20;
let reported = 0;

/** What failed, or was not done, after its place was left; each stays until it was seen. */
export const lateFailures = createStore<readonly LateFailure[]>([]);

export const tellLate = (title: string, why: string): void => {
  reported += 1;
  lateFailures.set([...lateFailures.get(), { number: reported, title, why }].slice(-MOST));
};

export const seenLate = (number: number): void => {
  lateFailures.set(lateFailures.get().filter((failure) => failure.number !== number));
};
