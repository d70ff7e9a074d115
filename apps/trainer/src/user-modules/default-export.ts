/** The default export of a module, also of CommonJS that was compiled from ES modules. */
export function defaultExport({ default: exported }: Readonly<Record<string, unknown>>): unknown {
  const isCompiled = typeof exported === 'object' && exported !== null && '__esModule' in exported;
  return isCompiled && 'default' in exported ? exported.default : exported;
}
