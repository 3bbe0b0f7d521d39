import type { ReactNode } from "react";

/** A name and its value in a list of facts. */
export const Fact = ({
  name,
  children,
  title,
}: {
  readonly name: string;
  readonly children: ReactNode;
  readonly title?: string;
}) => (
  <>
    <dt className="text-text-3">{name}</dt>
    <dd className="selectable m-0 min-w-0 [overflow-wrap:anywhere]" {...(title === undefined ? {} : { title })}>
      {children}
    </dd>
  </>
);
