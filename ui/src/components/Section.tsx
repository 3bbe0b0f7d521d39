import type { ReactNode } from "react";

export const Section = ({ title, children }: { readonly title: ReactNode; readonly children: ReactNode }) => (
  <section className="mb-5">
    <h3>{title}</h3>
    {children}
  </section>
);
