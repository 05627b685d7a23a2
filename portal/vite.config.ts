// How the portal is built and served while it is worked on. The build has hashed assets, no inline script and no
// inline style, so that the control plane can serve it under a strict Content-Security-Policy.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { controlPlane } from './scripts/control-plane.ts';

export default defineConfig({
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
  plugins: [react(), controlPlane()],
  build: {
    outDir: 'dist',
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    sourcemap: false,
    chunkSizeWarningLimit: 1000,
    manifest: 'manifest.json',
  },
  server: { host: '127.0.0.1' },
  preview: { host: '127.0.0.1' },
});
