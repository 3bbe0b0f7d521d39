/** That a workspace is marked as production: seen before anything else of a call. */
export const ProductionMark = ({ marked }: { readonly marked: boolean }) =>
  marked ? (
    <span className="mr-1.5 font-semibold text-crit" data-testid="production">
      PRODUCTION
    </span>
  ) : null;
