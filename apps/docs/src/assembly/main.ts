/**
 * Writes the pages of the site to `src/content/docs`, and as plain Markdown to `src/content/text`: the documents of the repository, and the references that are generated
 * from the sources. Run by `pnpm --filter @agentlightning/docs site`.
 *
 * Documents stay beside the code with relative links, and are read there as well; assembled pages are not committed, because
 * copies of texts become wrong. The API is by TypeDoc, one page for each entry point: its plugin for Starlight writes about 900
 * pages, and API Extractor's model has no types of other packages in links. TypeDoc needs the compiler API, so this package has
 * TypeScript 6 beside TypeScript 7 of the repository.
 *
 * @module
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { repositoryRoot } from '../../../../tools/repository-files.ts';
import type { CommandOutput } from '../../../trainer/src/cli/output/command-outputs.ts';
import { commandOutputs } from '../../../trainer/src/cli/output/command-outputs.ts';
import { buildProgram } from '../../../trainer/src/cli/program.ts';
import { storedTrainingJsonSchema, trainingJsonSchema } from '../../../trainer/src/config/resolve-config.ts';
import { promptSearchJsonSchema } from '../../../trainer/src/config/resolve-prompt-search.ts';
import type { Setting } from '../../../trainer/src/server/settings/setting-table.ts';
import { settings, settingsJsonSchema } from '../../../trainer/src/server/settings/setting-table.ts';
import { apiPages } from './api-pages.ts';
import { readApi } from './api-project.ts';
import { commandPages } from './command-reference.ts';
import { configurationPage } from './configuration-reference.ts';
import { contentFolder, textFolder } from './convert-document.ts';
import { withDiagrams } from './diagrams.ts';
import { codeCell, tableCell } from './markdown-table.ts';
import { type Page, pageText, plainPageText } from './page.ts';
import { repositoryPages } from './repository-documents.ts';

/** The page of the outputs of commands with `--json`. */
function outputPage(outputs: Readonly<Record<string, CommandOutput>>): Page {
  const sections = Object.entries(outputs).map(([command, { form, schema }]) => {
    const { $schema: _, ...shape } = z.toJSONSchema(schema, { unrepresentable: 'any' });
    const what = form === 'lines' ? 'One JSON object per line. The schema of a line:' : 'One JSON object:';
    return `## agl ${command}\n\n${what}\n\n\`\`\`json\n${JSON.stringify(shape, null, 2)}\n\`\`\``;
  });
  return {
    slug: 'reference/json-output',
    title: 'JSON output',
    description: 'The JSON Schema of the output of every agl command with --json.',
    order: 3,
    body: `${introduction}\n\n${sections.join('\n\n')}`,
  };
}

const introduction = `Every command with a result has \`--json\`. Standard output then has JSON only; other output is sent to standard error. Field
names are snake_case, times are ISO 8601, durations are seconds. Rollouts and spans in \`agl show\` and \`agl trace\` have the names of the
TypeScript API.

The tests of the commands check their output against these schemas. A later version may add fields.

\`agl dataset\` writes JSON lines in the format of OpenAI's fine-tuning API, \`agl config schema\` a JSON Schema, and \`agl mcp\` JSON-RPC.`;

/** The groups of `llms.txt`, in order, with the first part of the slugs of their pages. */
const groups: readonly (readonly [heading: string, folder: string])[] = [
  ['Learn', 'learn'],
  ['Guides', 'guides'],
  ['Recipes', 'recipes'],
  ['Skills for coding agents', 'skills'],
  ['Training', 'training'],
  ['Agents and frameworks', 'agents'],
  ['Algorithms', 'algorithms'],
  ['Runtimes', 'runtimes'],
  ['Store', 'store'],
  ['Gateway', 'gateway'],
  ['Packages', 'packages'],
  ['Examples', 'examples'],
  ['Reference', 'reference'],
  ['Operations', 'operations'],
  ['Reports', 'reports'],
  ['Contribute', 'contribute'],
  ['Decisions', 'decisions'],
];

/** The list of all pages as Markdown, for language models (llmstxt.org). */
function llmsText(pages: readonly Page[]): string {
  const home = pages.find(({ slug }) => slug === '');
  const sections = groups.map(([heading, folder]) => {
    const lines = pages
      .filter(({ slug }) => slug === folder || slug.startsWith(`${folder}/`))
      .map(({ slug, title, description }) => `- [${title}](/${slug}.md): ${description}`);
    return `## ${heading}\n\n${lines.join('\n')}`;
  });
  return `# ${home?.title ?? ''}\n\n> ${home?.description ?? ''}\n\n${sections.join('\n\n')}\n`;
}

const api = await readApi();
const program = buildProgram({ args: [], setExitCode: () => undefined });
const configuration = configurationPage(api.project, [
  { heading: 'Training', interfaceName: 'TrainConfig', schema: trainingJsonSchema() },
  { heading: 'Training on stored data', interfaceName: 'StoredTrainConfig', schema: storedTrainingJsonSchema() },
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

/** The page of the settings of `agl server`. */
function serverSettingsPage(settings: readonly Setting[], schema: object): Page {
  const rows = settings.map((setting) => {
    const value = setting.default === null ? 'not set' : codeCell(String(setting.default));
    const places = `${codeCell(setting.flag)} | ${codeCell(setting.environment)}`;
    return `| ${codeCell(setting.name)} | ${places} | ${value} | ${tableCell(setting.description)} |`;
  });
  return {
    slug: 'reference/server-settings',
    title: 'Settings of agl server',
    description:
      'Every setting of agl server, with its key in the configuration file, its flag and its environment variable.',
    order: 2,
    body: `A setting is taken from its flag, else its environment variable, else the file of \`--config\`, else the default.

| Key | Flag | Variable | Default | Meaning |
|---|---|---|---|---|
${rows.join('\n')}

The JSON Schema of the file, as \`agl config schema\` prints it:

\`\`\`json
${JSON.stringify(schema, null, 2)}
\`\`\``,
  };
}
