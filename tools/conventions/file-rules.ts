import { basename, dirname } from 'node:path';
import { listFiles, readText } from '../repository-files.ts';
import type { Convention } from './convention.ts';

const isSource = (path: string): boolean => /\.(ts|tsx|cjs|py|proto|grit|css)$/.test(path);
const isTest = (path: string): boolean => /\.test\.tsx?$|\.test-d\.ts$|\/tests?\/|(^|\/)test_[^/]*\.py$/.test(path);

const maxSourceLines = 400;
const maxTestLines = 500;

/** A file fits a few screens. */
const filesAreShort: Convention = {
  name: `files have at most ${maxSourceLines} lines, tests ${maxTestLines}`,
  findProblems: () =>
    listFiles(isSource).flatMap((path) => {
      const lines = readText(path).trimEnd().split('\n').length;
      const most = isTest(path) ? maxTestLines : maxSourceLines;
      return lines > most ? [`${path}: ${lines} lines, ${most} allowed; split it by concept`] : [];
    }),
};

const maxFolderFiles = 25;

/** Folders are small. Tests beside the sources and generated code do not count. */
const foldersAreSmall: Convention = {
  name: `folders have at most ${maxFolderFiles} source files`,
  findProblems: () => {
    const counts = new Map<string, number>();
    for (const path of listFiles((path) => isSource(path) && !isTest(path) && !/\/(gen|generated)\//.test(path)))
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    return [...counts]
      .filter(([, count]) => count > maxFolderFiles)
      .map(([folder, count]) => `${folder}: ${count} source files, ${maxFolderFiles} allowed; group them by concept`);
  },
};

const emptyNames = new Set([
  'util',
  'utils',
  'helper',
  'helpers',
  'common',
  'misc',
  'lib',
  'manager',
  'shared',
  'types',
]);
const emptyEndings = /-(utils?|helpers?|manager|misc|common)$/;

/** The adapters name the structural types of the framework they touch in `types.ts`. */
const adapterTypes = /^packages\/(fetch|langchain|openai-agents|ai-sdk|mastra|claude-agent-sdk)\/src\/types\.ts$/;

/** Names such as `utils` do not describe the content. */
const filesAreNamedAfterConcepts: Convention = {
  name: 'files and folders are named after the concept they hold',
  findProblems: () =>
    listFiles((path) => isSource(path) && !adapterTypes.test(path)).flatMap((path) => {
      const parts = path.split('/').map((part) => part.replace(/(\.test|\.config|\.d)?\.[a-z]+$/, ''));
      const empty = parts.find((part) => emptyNames.has(part) || emptyEndings.test(part));
      return empty === undefined ? [] : [`${path}: \`${empty}\` is not descriptive; name the file after its concept`];
    }),
};

interface ForbiddenText {
  readonly pattern: RegExp;
  readonly reason: string;
  /** Only in files for which this holds. @default every TypeScript file */
  readonly where?: (path: string) => boolean;
}

// Written in pieces, so that this file does not break the rules it states.
const forbiddenTexts: readonly ForbiddenText[] = [
  { pattern: new RegExp(`@ts-(${'ignore'}|${'nocheck'})`), reason: 'the compiler is right; correct the types' },
  {
    pattern: new RegExp(`@ts-${'expect-error'}`),
    reason: 'only a test of types may expect an error',
    where: (path) => !isTest(path),
  },
  {
    pattern: new RegExp(`biome-${'ignore'} lint/(suspicious/noExplicitAny|style/noNonNullAssertion)`),
    reason: 'there is no exception to this rule',
  },
  {
    pattern: new RegExp(`\\b(${'TO'}${'DO'}|${'FIX'}${'ME'}|${'X'}${'XX'})\\b`),
    reason: 'do it now, or open an issue',
  },
  { pattern: new RegExp(`\\b(vi|jest)\\.${'mock'}\\(`), reason: 'no module mocks: use the real thing or pass it in' },
  {
    pattern: new RegExp(`\\b(Math\\.${'random'}|Date\\.${'now'})\\(`),
    reason: 'time and randomness are passed in (Clock, seed)',
    where: (path) => /^packages\/[^/]+\/src\//.test(path) && !isTest(path) && !/\/(clock|id)\.ts$/.test(path),
  },
];

/** Patterns that a reviewer would reject. */
const nothingForbidden: Convention = {
  name: 'no silenced compiler, no leftover notes, no mocked modules, no hidden clock or dice',
  findProblems: () =>
    listFiles((path) => /\.tsx?$/.test(path)).flatMap((path) =>
      readText(path)
        .split('\n')
        .flatMap((text, index) =>
          forbiddenTexts
            .filter(({ pattern, where }) => (where?.(path) ?? true) && pattern.test(text))
            .map(({ reason }) => `${path}:${index + 1}: ${text.trim()}\n    ${reason}`),
        ),
    ),
};

const declaration =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let) (?<name>[A-Za-z_$][\w$]*)/;

/** Every export is documented; index files only list names. */
const exportsAreDocumented: Convention = {
  name: 'everything exported has a doc comment',
  findProblems: () =>
    listFiles((path) => /^(packages|apps)\/[^/]+\/src\/.*\.ts$/.test(path) && !isTest(path)).flatMap((path) => {
      if (basename(path) === 'index.ts') return [];
      const lines = readText(path).split('\n');
      let previous = '';
      return lines.flatMap((line, index) => {
        const name = declaration.exec(line)?.groups?.name;
        if (name === undefined) return [];
        const isOverload = name === previous;
        previous = name;
        const above =
          lines
            .slice(0, index)
            .findLast((text) => !text.trim().startsWith('//'))
            ?.trim() ?? '';
        return isOverload || above.endsWith('*/') ? [] : [`${path}:${index + 1}: ${name} has no doc comment`];
      });
    }),
};

/** Rules about single files of source. */
export const fileRules: readonly Convention[] = [
  filesAreShort,
  foldersAreSmall,
  filesAreNamedAfterConcepts,
  nothingForbidden,
  exportsAreDocumented,
];
