#!/usr/bin/env node
// Old versions of Node must be able to run this file, because the trainer rejects them: no top-level await.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/** The command line of the project's own trainer, so that agents and command share one version; else of this package's. */
function commandLine(): string {
  try {
    return createRequire(join(process.cwd(), 'package.json')).resolve('@agentlightning/trainer/main');
  } catch {
    return require.resolve('@agentlightning/trainer/main');
  }
}

void import(pathToFileURL(commandLine()).href);
