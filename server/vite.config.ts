import { defineConfig } from "vite"

// Bundles the listener with the route files of the API into dist/main.js, and the commands of the image into
// dist/command.js; packages stay in node_modules.
export default defineConfig({
  publicDir: false,
  resolve: { tsconfigPaths: true },
  build: {
    ssr: true,
    outDir: "dist",
    target: "node20",
    rolldownOptions: {
      input: { main: "server/main.ts", command: "scripts/command.ts" },
      // Next to main.js: paths are relative to the folder of a file, which is one below the root.
      output: { chunkFileNames: "[name]-[hash].js" },
      // Node's Response converts its text to a stream; this one is written to the socket together with its headers.
      transform: { inject: { Response: ["srvx/node", "FastResponse"] } },
    },
  },
})
