import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The web page. `vite build` writes it beside the bundle of the server. */
export default defineConfig({
  root: `${import.meta.dirname}/web`,
  plugins: [react()],
  logLevel: 'warn',
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2023',
    // The content security policy permits neither inline scripts nor inline styles.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
});
