/**
 * Writes `docs/errors.md` from the error catalogue of `packages/core`.
 *
 * @module
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultRemedies, type ErrorCode, errorMeanings } from '../packages/core/src/base/error-catalogue.ts';
import { repositoryRoot } from './repository-files.ts';

/** Path of the page from the root of the repository. */
export const errorDocument = 'docs/errors.md';

/** The text of the page, made from the catalogue. */
export function errorDocumentText(): string {
  const rows = Object.entries(errorMeanings).map(
    ([code, meaning]) => `| \`${code}\` | ${cell(meaning)} | ${cell(defaultRemedies[code as ErrorCode])} |`,
  );
  return `# Errors

<!-- Made by \`node tools/generate-error-docs.ts\` from packages/core/src/base/error-catalogue.ts. Do not edit. -->

Every error of this project is an \`AgentLightningError\`. It says what happened and with which value (\`message\`), what
kind of failure it is (\`code\`), what to do about it (\`remedy\`), and which error lies underneath (\`cause\`).

\`\`\`ts
import { AgentLightningError } from '@agentlightning/core';

try {
  await store.getRollout('ro-unknown');
} catch (error) {
  if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') console.log(error.remedy);
}
\`\`\`

The remedy below is the usual one. Where the place that throws knows better, it says so.

| Code | What happened | What to do |
|---|---|---|
${rows.join('\n')}
`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (import.meta.main) {
  writeFileSync(join(repositoryRoot, errorDocument), errorDocumentText());
  console.log(`Wrote ${errorDocument}`);
}
