/** The position in the agent's code that an exception was thrown from, as `file:line:column`; null when the stack has none. */
export function exceptionLocation(stackTrace: string): string | null {
  for (const line of stackTrace.split('\n')) {
    const place = javaScriptFrame(line) ?? pythonFrame(line);
    if (place !== null && !/[\\/]node_modules[\\/]|^node:|[\\/]site-packages[\\/]/.test(place)) return place;
  }
  return null;
}

function javaScriptFrame(line: string): string | null {
  if (!/^\s+at /.test(line)) return null;
  const place = /(?:\(|at (?:async )?)([^()]+:\d+:\d+)\)?$/.exec(line)?.[1];
  return place === undefined ? null : place.replace(/^file:\/\//, '');
}

function pythonFrame(line: string): string | null {
  const [, file, lineNumber] = /^\s+File "(.+)", line (\d+)/.exec(line) ?? [];
  return file === undefined || lineNumber === undefined ? null : `${file}:${lineNumber}`;
}
