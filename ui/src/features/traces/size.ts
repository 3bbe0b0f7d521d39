/** `41 B`, `41 KB`, `1.2 MB`, in thousands as file managers count. */
export const formatSize = (bytes: number): string => {
  if (bytes < 1_000) return `${bytes} B`;
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, "KB"] : bytes < 1e9 ? [bytes / 1e6, "MB"] : [bytes / 1e9, "GB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
};
