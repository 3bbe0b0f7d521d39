import type { ReactNode } from "react";

interface PartProps {
  readonly title: string;
  /** Where its values are changed; absent where they are changed right here. */
  readonly from?: ReactNode;
  readonly children: ReactNode;
}

/** One part of the screen. */
export const Part = ({ title, from, children }: PartProps) => (
  <section className="mb-8" aria-label={title}>
    <div className="mb-3 flex items-baseline gap-4 border-b border-line-soft pb-2">
      <h2 className="m-0 text-[13px] font-semibold">{title}</h2>
      {from === undefined ? null : <span className="ml-auto text-right text-[11.5px] text-text-3">{from}</span>}
    </div>
    {children}
  </section>
);

/** Names and values beside each other. */
export const Facts = ({ children }: { readonly children: ReactNode }) => (
  <dl className="m-0 grid grid-cols-[220px_minmax(0,1fr)] narrow:grid-cols-1 gap-x-5 gap-y-2">{children}</dl>
);

export const Name = ({ children }: { readonly children: ReactNode }) => (
  <code className="rounded bg-raised px-1 font-mono text-[11px]">{children}</code>
);
