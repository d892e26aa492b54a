import { defineConfig } from "vite"

// Bundles the listener with the route files of the API into dist/main.js; packages stay in node_modules.
export default defineConfig({
  publicDir: false,
  resolve: { tsconfigPaths: true },
  build: {
    ssr: "server/main.ts",
    outDir: "dist",
    target: "node20",
    rolldownOptions: {
      output: { codeSplitting: false },
      // Node's Response converts its text to a stream; this one is written to the socket together with its headers.
      transform: { inject: { Response: ["srvx/node", "FastResponse"] } },
    },
  },
})
