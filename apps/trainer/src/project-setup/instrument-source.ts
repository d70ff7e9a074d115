import { importedModules } from './find-agent-files.ts';

/** The source of an agent's file with the line that instruments its framework; unchanged when it has one. */
export function instrumentSource(source: string, adapter: string): string {
  if (importedModules(source).some((name) => name === adapter || name.startsWith(`${adapter}/`))) return source;
  const isCommonJs = /\brequire\(/.test(source) && !/^\s*import\s/m.test(source);
  const needed = calls[adapter];
  if (needed === undefined) {
    return inserted(source, isCommonJs ? `require('${adapter}/register');` : `import '${adapter}/register';`);
  }
  const { name, line, prepare = (unchanged) => unchanged } = needed;
  const imported = isCommonJs ? `const { ${name} } = require('${adapter}');` : `import { ${name} } from '${adapter}';`;
  return afterImports(inserted(prepare(source), imported), line(source));
}

/** The call of an adapter that requires a class or a function of the framework. */
interface AdapterCall {
  /** The function of the adapter. */
  readonly name: string;
  /** The line that calls it. */
  readonly line: (source: string) => string;
  /** Changes to the imports before. @default none */
  readonly prepare?: (source: string) => string;
}

const calls: Readonly<Record<string, AdapterCall>> = {
  '@agentlightning/fetch': {
    name: 'instrumentOpenAI',
    line: (source) => `instrumentOpenAI(${openaiName(source)});`,
  },
  '@agentlightning/mastra': {
    name: 'instrumentMastra',
    line: (source) => `instrumentMastra(${/\bAgent\s+as\s+(\w+)/.exec(source)?.[1] ?? 'Agent'});`,
  },
  '@agentlightning/claude-agent-sdk': {
    name: 'traceQuery',
    line: () => 'const query = traceQuery(untracedQuery);',
    prepare: (source) =>
      source
        .replace(
          /(import\s*\{[^}]*?\bquery)(?=[^}]*\}\s*from\s*['"]@anthropic-ai\/claude-agent-sdk)/,
          '$1 as untracedQuery',
        )
        .replace(
          /(\{[^}]*?\bquery)(?=[^}]*\}\s*=\s*require\(\s*['"]@anthropic-ai\/claude-agent-sdk)/,
          '$1: untracedQuery',
        ),
  },
};

/** The local name of the class OpenAI. */
function openaiName(source: string): string {
  const imported = /import\s+(?!type\s)(\w+)[^;'"]*from\s+['"]openai['"]/.exec(source)?.[1];
  return imported ?? /(?:const|let|var)\s+(\w+)\s*=\s*require\(\s*['"]openai['"]/.exec(source)?.[1] ?? 'OpenAI';
}

/** Inserts a line before the first statement: after `#!`, comments and directives. */
function inserted(source: string, line: string): string {
  const head =
    /^(?:#!.*\n)?(?:\s*(?:\/\/.*\n|\/\*[\s\S]*?\*\/[^\S\n]*\n|(['"])use [a-z ]+\1;?[^\S\n]*\n))*/.exec(source)?.[0] ??
    '';
  const rest = source.slice(head.length);
  return `${head}${line}\n${rest}`;
}

/** Inserts a line after the last import or require at the start of a line. */
function afterImports(source: string, line: string): string {
  const imports = [
    ...source.matchAll(
      /^(?:import\b[^;]*?['"][^'"\n]+['"];?|(?:const|let|var)\b[^;\n]*\brequire\([^)]*\);?)[^\S\n]*\n/gm,
    ),
  ];
  const last = imports.at(-1);
  if (last === undefined) return `${line}\n${source}`;
  const end = last.index + last[0].length;
  const rest = source.slice(end);
  return `${source.slice(0, end)}\n${line}\n${rest.startsWith('\n') ? '' : '\n'}${rest}`;
}
