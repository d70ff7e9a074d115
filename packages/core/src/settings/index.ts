export { env, readSecret, type Secret, type SecretVariable, secretText } from '../base/secret.ts';
export { didYouMean } from './nearest-name.ts';
export { parseSettings, type SettingsDescription } from './parse-settings.ts';
export { secretFormSchema, secretSchema } from './secret-schema.ts';
