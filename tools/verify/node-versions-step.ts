import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { installRuntime } from '../matrix/installed-runtime.ts';
import { withMatrixFolder } from '../matrix/matrix-folder.ts';
import { runtimes } from '../matrix/runtimes.ts';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from './run-command.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/** Runs `agl dev` in a project with CommonJS and ES modules: the lowest version of Node, and the versions where Node changed. */
export const nodeVersionsStep: Step = {
  name: 'nodes',
  description: 'a project on the supported versions of Node',
  after: ['build', 'matrix'],
  run: runNodeVersions,
};

/** The lowest version, and the first of the next release line. */
const shortVersions = ['22.16.0', '24.0.0'];

/**
 * The last versions with module hooks that reject CommonJS without a source, and the first and last versions of lines that the
 * matrix does not have; its releases are added. Node 23 is not supported.
 */
const longVersions = ['22.22.0', '24.11.0', '25.0.0', '25.9.0', '26.0.0'];

/** A project whose package is CommonJS, as `npm init` makes it. */
const project: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "a-project", "version": "1.0.0" }',
  'agl.config.ts': `import { defineConfig } from '@agentlightning/trainer';
import dependency from 'a-dependency';
import legacy from './legacy.cjs';
import { answer } from './agent';

export default defineConfig<{ question: string }>({
  agent: async (task) => (dependency.separator === '/' && legacy.isLoaded && __dirname !== '' ? answer(task.question) : 0),
  tasks: { train: [{ question: 'a' }], test: [{ question: 'b' }] },
  algorithm: { type: 'grpo', groupSize: 4 },
});
`,
  'agent.ts': 'export const answer = (question: string): number => (question === "a" ? 1 : 0.5);\n',
  'legacy.cjs': 'const { isLoaded } = require("./required.cjs");\nmodule.exports = { isLoaded };\n',
  'required.cjs': 'exports.isLoaded = true;\n',
  'node_modules/a-dependency/package.json': '{ "name": "a-dependency", "version": "1.0.0", "main": "index.js" }',
  'node_modules/a-dependency/index.js': 'module.exports = { separator: require("./separator.js").separator };\n',
  'node_modules/a-dependency/separator.js': 'exports.separator = "/";\n',
};

async function runNodeVersions({ scope, report }: StepContext): Promise<StepResult> {
  const released = runtimes.flatMap(({ package: { name, version } }) => (name.startsWith('node-') ? [version] : []));
  const supported = released.filter((version) => !version.startsWith('22.12.'));
  const versions = scope === 'short' ? shortVersions : [...shortVersions, ...longVersions, ...supported];
  return await withMatrixFolder(report, async (home) => {
    const folder = await writeProject(join(home, 'node-versions'));
    const failures: string[] = [];
    for (const version of versions) {
      const output = await runDev(version, folder, home);
      const isRight = /^ro-\w+ +succeeded/m.test(output) && /reward 1$/m.test(output) && !/Warning/.test(output);
      if (!isRight) failures.push(`Node ${version}:\n${output}`);
    }
    const passed = versions.length - failures.length;
    return { passed, failed: failures.length, remark: versions.join(', '), output: failures.join('\n\n') };
  });
}

async function writeProject(folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  for (const [name, text] of Object.entries(project)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const scoped = join(folder, 'node_modules/@agentlightning');
  await mkdir(scoped, { recursive: true });
  await symlink(join(repositoryRoot, 'apps/trainer'), join(scoped, 'trainer'));
  return folder;
}

/** The output of `agl dev`. It makes no model call, so its exit code is 1. */
async function runDev(version: string, cwd: string, home: string): Promise<string> {
  const { platform, arch } = process;
  const node = await installRuntime(
    { name: 'node', package: { name: `node-${platform}-${arch}`, version }, program: 'bin/node', flags: [] },
    join(home, 'runtimes'),
  );
  const program = join(repositoryRoot, 'apps/trainer/dist/cli/main.js');
  const { output } = await runCommand([...node, program, 'dev'], { cwd, timeoutMs: 120_000 });
  return output;
}
