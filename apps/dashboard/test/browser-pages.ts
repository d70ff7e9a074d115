import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { build } from 'vite';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The path of Chromium: `AGL_CHROMIUM`, or the first one on the PATH; null without one. */
export const chromiumPath: string | null = findChromium();

if (chromiumPath === null) {
  process.stderr.write('The page tests are skipped: install chromium, or set AGL_CHROMIUM to the path of one.\n');
}

function findChromium(): string | null {
  const given = process.env['AGL_CHROMIUM'];
  if (given !== undefined && given !== '') return given;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return candidates.find((path) => existsSync(path)) ?? null;
}

/** A browser, and the web page built from its sources. */
export interface BrowserPages {
  readonly webFolder: string;
  /** Opens a page that collects console errors and dialogs. */
  open(options?: BrowserContextOptions): Promise<OpenPage>;
  close(): Promise<void>;
}

/** A page with its unexpected events. */
export interface OpenPage {
  readonly page: Page;
  /** Console errors, uncaught exceptions and dialogs. Failed requests are not among them. */
  readonly problems: readonly string[];
}

/** Builds the web page and starts a browser. */
export async function startBrowser(): Promise<BrowserPages> {
  const webFolder = await mkdtemp(join(tmpdir(), 'agl-web-'));
  const root = join(import.meta.dirname, '..');
  await build({ configFile: join(root, 'vite.config.ts'), build: { outDir: webFolder, minify: false } });
  const browser: Browser = await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  return {
    webFolder,
    open: async (options = {}) => {
      const page = await (await browser.newContext(options)).newPage();
      page.setDefaultTimeout(20_000);
      const problems: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text())) {
          problems.push(message.text());
        }
      });
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('dialog', (dialog) => {
        problems.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      return { page, problems };
    },
    close: async () => {
      await browser.close();
      await rm(webFolder, { recursive: true, force: true });
    },
  };
}
