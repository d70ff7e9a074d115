import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { errorDocument, errorDocumentText } from '../generate-error-docs.ts';
import { listFiles, readText, repositoryRoot } from '../repository-files.ts';
import type { Convention } from './convention.ts';

const isDocument = (path: string): boolean => path.endsWith('.md') && !path.startsWith('.changeset/');

/** The lines of a document outside of code blocks, as `[line number, text]`. */
function proseOf(path: string): readonly (readonly [number, string])[] {
  let isCode = false;
  return readText(path)
    .split('\n')
    .flatMap((text, index): (readonly [number, string])[] => {
      if (/^\s*```/.test(text)) {
        isCode = !isCode;
        return [];
      }
      return isCode ? [] : [[index + 1, text]];
    });
}

/** The name that a heading gets as the target of a link. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[`*]|\[|\]\([^)]*\)/g, '')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

function hasAnchor(path: string, anchor: string): boolean {
  return proseOf(path).some(([, text]) => {
    const heading = /^#+ (.*)$/.exec(text)?.[1];
    return heading !== undefined && anchorOf(heading) === anchor;
  });
}

const linksLead: Convention = {
  name: 'links between documents lead somewhere',
  findProblems: () =>
    listFiles(isDocument).flatMap((document) =>
      proseOf(document).flatMap(([line, text]) =>
        [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].flatMap(([, target = '']) => {
          const [file = '', anchor] = target.split('#');
          const path = file === '' ? document : normalize(join(dirname(document), file));
          if (!existsSync(join(repositoryRoot, path))) return [`${document}:${line}: ${target} does not exist`];
          const isMissing = anchor !== undefined && path.endsWith('.md') && !hasAnchor(path, anchor);
          return isMissing ? [`${document}:${line}: ${path} has no heading #${anchor}`] : [];
        }),
      ),
    ),
};

/** A path as written in prose or in a comment: it starts with a folder of the root. */
const mentionedPath = /(?<![\w@/.-])(?:packages|apps|examples|tools|docs|benchmarks)\/[\w./-]*[\w/]/g;

const pathsExist: Convention = {
  name: 'paths that documents and comments mention exist',
  findProblems: () => [
    ...listFiles(isDocument).flatMap((document) =>
      proseOf(document).flatMap(([line, text]) =>
        [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => missingPaths(code, `${document}:${line}`)),
      ),
    ),
    ...listFiles((path) => /\.(ts|cjs|proto)$/.test(path) && !path.startsWith('tools/conventions/')).flatMap((path) =>
      readText(path)
        .split('\n')
        .flatMap((text, index) => (/^\s*(\*|\/\/|\/\*)/.test(text) ? missingPaths(text, `${path}:${index + 1}`) : [])),
    ),
  ],
};

/** The paths in a text that do not exist. A text with a placeholder, such as `packages/<name>`, is skipped. */
function missingPaths(text: string, where: string): readonly string[] {
  if (/[<{*…]/.test(text.replace(/^\s*\/?\*+/, ''))) return [];
  return [...text.matchAll(mentionedPath)]
    .map(([path]) => path)
    .filter((path) => !/(^|\/)(dist|node_modules)(\/|$)/.test(path) && !existsSync(join(repositoryRoot, path)))
    .map((path) => `${where}: ${path} does not exist`);
}

const errorsAreListed: Convention = {
  name: `${errorDocument} lists the errors of the catalogue`,
  findProblems: () => {
    const current = existsSync(join(repositoryRoot, errorDocument)) ? readText(errorDocument) : '';
    return current === errorDocumentText() ? [] : [`${errorDocument} is out of date: run \`pnpm error-docs\``];
  },
};

const decisions = /^docs\/decisions\/(\d{4})-[\w-]+\.md$/;

/** The index of the decisions, which is read alone. */
const decisionIndex = 'docs/decisions/README.md';

/** The greatest number of words of a decision below its title. A decision about one file is in its opening comment. */
const maxDecisionWords = 150;

const decisionsAreNumbered: Convention = {
  name: 'decisions are short, have unique numbers and are listed in their index',
  findProblems: () => {
    const files = listFiles((path) => decisions.test(path));
    const index = readText(decisionIndex);
    return files.flatMap((path) => {
      const number = decisions.exec(path)?.[1];
      const sharesNumber = files.some((other) => other !== path && decisions.exec(other)?.[1] === number);
      const words = wordsOf(readText(path).replace(/^# .*\n/, ''));
      const isListed = index.includes(`(${path.replace('docs/decisions/', '')})`);
      return [
        ...(sharesNumber ? [`${path}: number ${number} is taken; use the next free one`] : []),
        ...(words > maxDecisionWords ? [`${path}: ${words} words, at most ${maxDecisionWords}`] : []),
        ...(isListed ? [] : [`${path}: missing in ${decisionIndex}`]),
      ];
    });
  },
};

/** The greatest number of words of a README; longer texts are pages of the manual, in apps/docs/content. */
const maxReadmeWords = 600;

/** The greatest number of words of the index of decisions: what a newcomer reads in ten minutes. */
const maxWordsOfDecisionIndex = 2000;

const readmesAreShort: Convention = {
  name: 'a README is short; its manual is on the documentation site',
  findProblems: () =>
    listFiles((path) => /(^|\/)README\.md$/.test(path) && !path.startsWith('docs/reports/')).flatMap((path) => {
      const words = wordsOf(readText(path));
      const limit = path === decisionIndex ? maxWordsOfDecisionIndex : maxReadmeWords;
      return words <= limit
        ? []
        : [`${path}: ${words} words, at most ${limit}. Move its manual to a page in apps/docs/content.`];
    }),
};

function wordsOf(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}

/** Rules about the documents. */
export const documentRules: readonly Convention[] = [
  readmesAreShort,
  linksLead,
  pathsExist,
  errorsAreListed,
  decisionsAreNumbered,
];
