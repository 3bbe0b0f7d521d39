/** One part of a bar; never so thin that it cannot be seen. */
export const Share = ({ of, total, look }: { readonly of: number; readonly total: number; readonly look: string }) =>
  of === 0 ? null : <i className={`block ${look}`} style={{ width: `${Math.max((of / total) * 100, 1)}%` }} />;
