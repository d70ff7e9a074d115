import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { migrateSource } from '../../migration/migrate-source.ts';
import { writeOutcome } from '../error-text.ts';

/** Renames the former keys of a configuration file, and prints what was renamed. */
export async function migrateConfig(
  given: string,
  { dryRun = false, json = false }: { readonly dryRun?: boolean; readonly json?: boolean },
): Promise<void> {
  const file = path.resolve(given);
  const { text, renamed } = migrateSource(await readConfig(file), file);
  const written = !dryRun && renamed.length > 0;
  if (written) {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  }
  const lines = renamed.map((each) => `${given}:${each}`);
  const report = renamed.length === 0 ? `${given} has no former keys.` : lines.join('\n');
  writeOutcome({ json }, { record: { file, renamed, written }, text: dryRun ? text.trimEnd() : report });
}

async function readConfig(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `${file} cannot be read: ${errorMessage(cause)}`,
      remedy: 'Pass the path of the configuration file: `agl config migrate path/to/agl.config.ts`.',
      cause,
    });
  }
}
