import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandResult, runCommand } from '../verify/run-command.ts';

/** An agent that knows nothing of Agent Lightning. */
const agentText = `import { openai } from '@ai-sdk/openai';
import { generateText } from 'ai';

export async function answer(question: string): Promise<string> {
  const { text } = await generateText({ model: openai.chat('gpt-4.1-mini'), prompt: question });
  return text;
}
`;

/** Sets up an existing project with `agl init`, checks it with `agl doctor`, and runs its agent. Returns the problems. */
export async function setUpProblems(registry: string, folder: string): Promise<readonly string[]> {
  const files = {
    'package.json': JSON.stringify({ name: 'an-agent', private: true, type: 'module' }),
    '.npmrc': `registry=${registry}\n`,
    'src/answer.ts': agentText,
    'answers.json': '["4"]',
  };
  await mkdir(join(folder, 'src'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const env = { npm_config_loglevel: 'error', OPENAI_API_KEY: '' };
  const run = async (...command: readonly string[]): Promise<CommandResult> =>
    await runCommand(command, { cwd: folder, env });
  const steps: readonly (readonly [command: readonly string[], output: RegExp])[] = [
    [['npm', 'install', 'ai@^7', '@ai-sdk/openai@^4'], /added/],
    [
      ['npx', '--yes', 'agentlightning', 'init', '--yes'],
      /npm install @agentlightning\/trainer @agentlightning\/ai-sdk/,
    ],
    [['npm', 'install', '@agentlightning/trainer', '@agentlightning/ai-sdk'], /added/],
    [['npx', 'agl', 'doctor'], /^0 errors/m],
    [['npx', 'agl', 'dev', '--tasks', '1', '--script', 'answers.json'], /reward 1$/m],
  ];
  for (const [command, expected] of steps) {
    const { output } = await run(...command);
    if (!expected.test(output)) return [`Unexpected output of ${command.join(' ')}:\n${output}`];
  }
  return [];
}
