import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { configTemplate } from './config-template.ts';
import { agentAmong, type ExportedValue, exportedValues } from './exported-values.ts';
import { findAgentFiles } from './find-agent-files.ts';
import { type FoundFramework, findFrameworks, isEsModulePackage, projectDependencies } from './installed-packages.ts';
import { instrumentSource } from './instrument-source.ts';
import { importSpecifier, type ProjectModules, projectModules } from './project-modules.ts';

/** The configuration file that `agl init` writes. */
const configFile = 'agl.config.ts';

/** The file that keeps recorded data out of the repository. */
const ignoreFile = '.gitignore';

/** A file that changes. */
export interface FileChange {
  /** From the folder of the project. */
  readonly file: string;
  /** Null for a new file. */
  readonly before: string | null;
  readonly after: string;
}

/** The export of the agent's file that a configuration calls. */
export interface ChosenExport {
  readonly file: string;
  readonly name: string;
  /** The names of the other exported values of the file. */
  readonly others: readonly string[];
}

/** The agent of a configuration, and how the project's modules import each other. */
export interface ConfiguredAgent {
  readonly file: string;
  readonly modules: ProjectModules;
  readonly exported: ExportedValue | null;
}

/** Planned changes of `agl init` to a project. */
export interface InitPlan {
  readonly framework: FoundFramework;
  /** None when the project is set up already. */
  readonly changes: readonly FileChange[];
  /** The export that a new configuration calls; null when the configuration exists, or the agent's file exports none. */
  readonly agent: ChosenExport | null;
  /** Packages that are not in package.json yet. */
  readonly packages: readonly string[];
  /** What a new configuration calls, and how it imports it; null when the configuration exists. */
  readonly configured: ConfiguredAgent | null;
}

/**
 * Plans the set-up of an existing project: the line that instruments its framework, a configuration, and `.agl/` in .gitignore.
 *
 * @param agentFile - the file of the agent; null to find the only one that imports the framework
 * @throws AgentLightningError CONFIG when the project has no supported framework, or the agent's file is not clear
 */
export function planInit(folder: string, agentFile: string | null): InitPlan {
  const dependencies = projectDependencies(folder);
  const frameworks = findFrameworks(folder, dependencies);
  const [framework, file] = agentOf(folder, frameworks, agentFile);
  if (framework.isSupported === false) {
    const message = `${framework.framework} ${framework.version} is not supported by ${framework.adapter}`;
    throw configError(message, `Install a version in ${framework.range}.`);
  }
  const source = readFileSync(path.join(folder, file), 'utf8');
  const instrumented = instrumentSource(source, framework.adapter);
  const values = exportedValues(source);
  const exported = agentAmong(values);
  const hasConfig = existsSync(path.join(folder, configFile));
  const modules = projectModules(folder, isEsModulePackage(folder));
  const configured = { file, modules, exported };
  const changes: FileChange[] = [
    ...(instrumented === source ? [] : [{ file, before: source, after: instrumented }]),
    ...(hasConfig ? [] : [configChange(configured)]),
    ...ignoreChanges(folder),
  ];
  const packages = ['@agentlightning/trainer', framework.adapter].filter((name) => !(name in dependencies));
  const others = values.filter((each) => each !== exported).map(({ name }) => name);
  const agent = hasConfig || exported === null ? null : { file, name: exported.name, others };
  return { framework, changes, agent, packages, configured: hasConfig ? null : configured };
}

/** The new configuration. */
export function configChange({ file, modules, exported }: ConfiguredAgent): FileChange {
  const { hasTopLevelAwait } = modules;
  const after = configTemplate({ module: importSpecifier(file, modules), hasTopLevelAwait, exported });
  return { file: configFile, before: null, after };
}

/** Adds `.agl/`, the folder of recorded data, to .gitignore unless a line has it. */
function ignoreChanges(folder: string): readonly FileChange[] {
  const file = path.join(folder, ignoreFile);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null;
  const text = before ?? '';
  if (/^(?:\*\*)?\/?\.agl\/?\s*$/m.test(text)) return [];
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  return [{ file: ignoreFile, before, after: `${text}${separator}.agl/\n` }];
}

function agentOf(
  folder: string,
  frameworks: readonly FoundFramework[],
  agentFile: string | null,
): readonly [FoundFramework, string] {
  const found = frameworks.flatMap((framework) =>
    findAgentFiles(folder, framework).map((file) => [framework, file] as const),
  );
  if (agentFile !== null) {
    const file = path.relative(folder, path.resolve(folder, agentFile)).split(path.sep).join('/');
    if (!existsSync(path.join(folder, file)))
      throw configError(`--agent does not exist: ${agentFile}`, 'Pass the path of the file.');
    const chosen =
      found.find(([, each]) => each === file) ??
      (frameworks[0] === undefined ? undefined : ([frameworks[0], file] as const));
    if (chosen !== undefined) return chosen;
  }
  if (frameworks.length === 0) {
    const remedy =
      'Install ai, @openai/agents, @langchain/core, @mastra/core, @anthropic-ai/claude-agent-sdk or openai; for other clients pass traceFetch() of @agentlightning/fetch to them.';
    throw configError(`no supported framework in ${path.join(folder, 'package.json')}`, remedy);
  }
  // Files that use a framework come before those that use only the OpenAI client.
  const [first] = found;
  if (first === undefined) {
    const names = frameworks.map(({ framework }) => framework).join(', ');
    throw configError(`no source file imports ${names}`, 'Pass the file of the agent: agl init --agent src/agent.ts.');
  }
  const files = found.filter(([framework]) => framework === first[0]).map(([, file]) => file);
  if (files.length === 1) return first;
  const message = `several files import ${first[0].framework}: ${files.slice(0, 10).join(', ')}`;
  throw configError(message, `Pass the file that starts the agent: agl init --agent ${files[0]}.`);
}

function configError(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'CONFIG', message, remedy });
}
