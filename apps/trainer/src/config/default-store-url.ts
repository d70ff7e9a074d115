/** The store that commands read when they are given none: that of a configuration in the current folder. */
export const defaultStoreUrl = 'sqlite:.agl/agl.db';
