/** The default export of a module, also of CommonJS that was compiled from ES modules; of a promise, its value. */
export async function defaultExport({ default: exported }: Readonly<Record<string, unknown>>): Promise<unknown> {
  const isCompiled = typeof exported === 'object' && exported !== null && '__esModule' in exported;
  return await (isCompiled && 'default' in exported ? exported.default : exported);
}
