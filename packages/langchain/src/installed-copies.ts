import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fieldsOf } from '@agentlightning/core/adapter';
import * as chatModelModule from '@langchain/core/language_models/chat_models';
import * as singletonsModule from '@langchain/core/singletons';

type Require = ReturnType<typeof createRequire>;

/** The modules of LangChain that runs go through. */
const langchainPaths = [
  '@langchain/core/callbacks/manager',
  '@langchain/core/language_models/chat_models',
  '@langchain/core/singletons',
];

/**
 * The modules of every copy of `@langchain/core` that this process is likely to use: that of this package and that of
 * the program, each as ES modules and as CommonJS, which are different classes.
 */
export function langchainModules(): readonly unknown[] {
  const found = langchainPaths.flatMap((path) => requires().flatMap((from) => copiesOf(from, path)));
  return [chatModelModule, singletonsModule, ...found];
}

/**
 * The classes of the `openai` client that models of LangChain, or the program itself, may have made clients of already. A
 * CommonJS copy that is not loaded yet is left out: its clients will find the `fetch` that is global then.
 */
export function openAiClasses(): readonly unknown[] {
  const modules = requires().flatMap((from) => {
    const langchainOpenAi = resolved(from, '@langchain/openai');
    const places = langchainOpenAi === null ? [from] : [from, createRequire(langchainOpenAi)];
    const isWanted = (path: string): boolean => path.endsWith('.mjs') || from.cache[path] !== undefined;
    return places.flatMap((place) => copiesOf(place, 'openai', isWanted));
  });
  return [...new Set(modules.map((module) => fieldsOf(module).OpenAI))];
}

function requires(): readonly Require[] {
  return [createRequire(import.meta.url), createRequire(join(process.cwd(), 'main.js'))];
}

/** Both forms of a module; none where it is not installed. */
function copiesOf(from: Require, name: string, isWanted: (path: string) => boolean = () => true): readonly unknown[] {
  const commonJs = resolved(from, name);
  if (commonJs === null) return [];
  const esModule = esModuleBeside(commonJs);
  const paths = esModule === null ? [commonJs] : [commonJs, esModule];
  return paths.filter(isWanted).flatMap((path) => loaded(from, path));
}

/** Packages that come in both forms keep them side by side, told apart by their endings. */
function esModuleBeside(commonJs: string): string | null {
  const candidate = commonJs.endsWith('.cjs') ? commonJs.replace(/cjs$/, 'js') : commonJs.replace(/js$/, 'mjs');
  return candidate !== commonJs && existsSync(candidate) ? candidate : null;
}

function resolved(from: Require, name: string): string | null {
  try {
    return from.resolve(name);
  } catch {
    // Not installed where this looks, or everything is in one bundle: what is imported above is the copy then.
    return null;
  }
}

function loaded(from: Require, path: string): readonly unknown[] {
  try {
    return [from(path)];
  } catch {
    // A copy that cannot be loaded is used by nobody.
    return [];
  }
}
