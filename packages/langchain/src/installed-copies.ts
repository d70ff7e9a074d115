import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fieldsOf, loadModule, type ModuleRequire, moduleRequires, resolveModule } from '@agentlightning/core/internal';
import * as chatModelModule from '@langchain/core/language_models/chat_models';
import * as singletonsModule from '@langchain/core/singletons';

/** The LangChain modules that execute runs. */
const langchainPaths = [
  '@langchain/core/callbacks/manager',
  '@langchain/core/language_models/chat_models',
  '@langchain/core/singletons',
];

/**
 * Returns the modules of every installed copy of `@langchain/core`: those of this package and of the program, each as ES
 * modules and as CommonJS, which define different classes.
 */
export function langchainModules(): readonly unknown[] {
  const found = langchainPaths.flatMap((path) =>
    moduleRequires(import.meta.url).flatMap((from) => copiesOf(from, path)),
  );
  return [chatModelModule, singletonsModule, ...found];
}

/**
 * Returns the `openai` classes of which the program or LangChain may already have created clients. A CommonJS copy that is
 * not loaded is omitted: its clients will use the patched global `fetch`.
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

/** Both module formats of a package; empty if it is not installed. */
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

/** Packages with both formats keep them side by side, with different extensions. */
function esModuleBeside(commonJs: string): string | null {
  const candidate = commonJs.endsWith('.cjs') ? commonJs.replace(/cjs$/, 'js') : commonJs.replace(/js$/, 'mjs');
  return candidate !== commonJs && existsSync(candidate) ? candidate : null;
}
