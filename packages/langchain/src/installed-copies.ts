import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fieldsOf, loadModule, type ModuleRequire, moduleRequires, resolveModule } from '@agentlightning/core/adapter';
import * as chatModelModule from '@langchain/core/language_models/chat_models';
import * as singletonsModule from '@langchain/core/singletons';

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
  const found = langchainPaths.flatMap((path) =>
    moduleRequires(import.meta.url).flatMap((from) => copiesOf(from, path)),
  );
  return [chatModelModule, singletonsModule, ...found];
}

/**
 * The classes of the `openai` client that models of LangChain, or the program itself, may have made clients of already. A
 * CommonJS copy that is not loaded yet is left out: its clients will find the `fetch` that is global then.
 */
export function openAIClasses(): readonly unknown[] {
  const modules = moduleRequires(import.meta.url).flatMap((from) => {
    const langchainOpenAI = resolveModule(from, '@langchain/openai');
    const places = langchainOpenAI === null ? [from] : [from, createRequire(langchainOpenAI)];
    const isWanted = (path: string): boolean => path.endsWith('.mjs') || from.cache[path] !== undefined;
    return places.flatMap((place) => copiesOf(place, 'openai', isWanted));
  });
  return [...new Set(modules.map((module) => fieldsOf(module).OpenAI))];
}

/** Both forms of a module; none where it is not installed. */
function copiesOf(
  from: ModuleRequire,
  name: string,
  isWanted: (path: string) => boolean = () => true,
): readonly unknown[] {
  const commonJs = resolveModule(from, name);
  if (commonJs === null) return [];
  const esModule = esModuleBeside(commonJs);
  const paths = esModule === null ? [commonJs] : [commonJs, esModule];
  return paths.filter(isWanted).flatMap((path) => loadModule(from, path));
}

/** Packages that come in both forms keep them side by side, told apart by their endings. */
function esModuleBeside(commonJs: string): string | null {
  const candidate = commonJs.endsWith('.cjs') ? commonJs.replace(/cjs$/, 'js') : commonJs.replace(/js$/, 'mjs');
  return candidate !== commonJs && existsSync(candidate) ? candidate : null;
}
