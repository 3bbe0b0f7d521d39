import { toCallError } from "../ipc/transport";

/** Why a part of the screen could not be read: it never goes missing without a word. Nothing while nothing is wrong. */
export const Unread = ({
  error,
  className = "mt-0 mb-2",
}: {
  readonly error: Error | null;
  readonly className?: string;
}) =>
  error === null ? null : (
    <p role="alert" className={`text-bad ${className}`} data-testid="unread">
      Could not be read: {toCallError(error).message}
    </p>
  );
