/** The environment variables of this process, for configurations that name some. */
export function environmentVariables(): NodeJS.ProcessEnv {
  return process.env;
}
