/**
 * Writes the pages of the site to `src/content/docs`, and as plain Markdown to `src/content/text`: the documents of the repository, and the references that are generated
 * from the sources. Run by `pnpm --filter @agentlightning/docs site`.
 *
 * @module
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../../../tools/repository-files.ts';
import { commandOutputs } from '../../../trainer/src/cli/output/command-outputs.ts';
import { buildProgram } from '../../../trainer/src/cli/program.ts';
import { trainingJsonSchema } from '../../../trainer/src/config/resolve-config.ts';
import { promptSearchJsonSchema } from '../../../trainer/src/config/resolve-prompt-search.ts';
import { settings, settingsJsonSchema } from '../../../trainer/src/server/settings/setting-table.ts';
import { apiPages } from './api-pages.ts';
import { readApi } from './api-project.ts';
import { commandPages } from './command-reference.ts';
import { configurationPage } from './configuration-reference.ts';
import { contentFolder, textFolder } from './convert-document.ts';
import { withDiagrams } from './diagrams.ts';
import { llmsText } from './llms-text.ts';
import { outputPage } from './output-reference.ts';
import { type Page, pageText, plainPageText } from './page.ts';
import { repositoryPages } from './repository-documents.ts';
import { serverSettingsPage } from './server-settings-reference.ts';

const api = await readApi();
const program = buildProgram({ args: [], setExitCode: () => undefined });
const configuration = configurationPage(api.project, [
  { heading: 'Training', interfaceName: 'TrainConfig', schema: trainingJsonSchema() },
  { heading: 'Prompt search', interfaceName: 'PromptSearchConfig', schema: promptSearchJsonSchema() },
]);
const pages: readonly Page[] = [
  ...repositoryPages(),
  ...commandPages(program),
  configuration,
  outputPage(commandOutputs),
  serverSettingsPage(settings, settingsJsonSchema()),
  ...(await apiPages(api)),
];

await rm(join(repositoryRoot, contentFolder), { recursive: true, force: true });
await rm(join(repositoryRoot, textFolder), { recursive: true, force: true });
for (const page of pages) {
  const file = `${page.slug === '' ? 'index' : page.slug}.md`;
  await write(join(contentFolder, file), withDiagrams(pageText(page)));
  await write(join(textFolder, file), plainPageText(page));
}
await write(join(textFolder, 'llms.txt'), llmsText(pages));
process.stdout.write(`${pages.length} pages\n`);

/** Writes a file of the site. */
async function write(path: string, text: string): Promise<void> {
  const file = join(repositoryRoot, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
