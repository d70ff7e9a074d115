import { importedModules } from './find-agent-files.ts';

/** The source of an agent's file with the line that instruments its framework; unchanged when it has one. */
export function withAdapter(source: string, adapter: string): string {
  if (importedModules(source).some((name) => name === adapter || name.startsWith(`${adapter}/`))) return source;
  const isCommonJs = /\brequire\(/.test(source) && !/^\s*import\s/m.test(source);
  if (adapter !== '@agentlightning/fetch') {
    return inserted(source, isCommonJs ? `require('${adapter}/register');` : `import '${adapter}/register';`);
  }
  const line = isCommonJs
    ? `const { instrumentOpenAI } = require('${adapter}');`
    : `import { instrumentOpenAI } from '${adapter}';`;
  return afterImports(inserted(source, line), `instrumentOpenAI(${openaiName(source)});`);
}

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
