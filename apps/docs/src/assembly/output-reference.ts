import { z } from 'zod';
import type { CommandOutput } from '../../../trainer/src/cli/output/command-outputs.ts';
import type { Page } from './page.ts';

/** The page of the outputs of commands with `--json`. */
export function outputPage(outputs: Readonly<Record<string, CommandOutput>>): Page {
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
