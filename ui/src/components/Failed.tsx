import { toCallError } from "../ipc/transport";

/** Why something could not be read or done, in the console's words; nothing without a reason. */
export const Failed = ({ error, className = "" }: { readonly error: Error | null; readonly className?: string }) =>
  error === null ? null : (
    <p role="alert" className={`text-bad ${className}`}>
      {toCallError(error).message}
    </p>
  );
