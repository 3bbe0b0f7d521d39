import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  clearScreen: false,
  resolve: {
    alias: {
      "markdown-to-jsx/react": fileURLToPath(new URL("src/features/inbox/form/noMarkdown.ts", import.meta.url)),
    },
  },
  // The window's content policy allows neither data: nor inline sources.
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 1500 },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["test/setup.ts"],
    restoreMocks: true,
    // Whole screens are drawn here, by whatever machine has time for it.
    testTimeout: 20_000,
  },
});
