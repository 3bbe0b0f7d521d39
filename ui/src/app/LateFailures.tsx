import { Button } from "../components/Button";
import { lateFailures, seenLate } from "../components/lateFailures";
import { Region } from "../components/Region";
import { useStore } from "../desk/store";

/** Failures that arrive after their place was left: above every screen, without taking the keyboard. */
export const LateFailures = () => {
  const failures = useStore(lateFailures);
  if (failures.length === 0) return null;
  return (
    <Region label="Failed in the meantime" className="max-h-[30vh] shrink-0 border-b border-bad-line bg-bad-bg">
      {failures.map(({ number, title, why }) => (
        <p
          key={number}
          role="alert"
          className="m-0 flex items-center gap-3 px-3.5 py-1.5 text-bad"
          data-testid="late-failure"
        >
          <span className="min-w-0">
            <b className="font-semibold">{title}</b> {why}
          </span>
          <Button
            tone="quiet"
            className="ml-auto -my-1 !py-1"
            onClick={() => {
              seenLate(number);
            }}
          >
            Dismiss
          </Button>
        </p>
      ))}
    </Region>
  );
};
