/** Default store of commands: that of a configuration in the current folder. */
export const defaultStoreUrl = 'sqlite:.agl/agl.db';
