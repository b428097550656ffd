// Answers to `@pipedream/types`: at run time these only mark what a module is.

export const defineApp = <T>(app: T): T => app;
export const defineSource = <T>(source: T): T => source;
export const defineAction = <T>(action: T): T => action;
/** A global in the code of steps; here for who imports it. */
export const defineComponent = <T>(component: T): T => component;
export default { defineApp, defineSource, defineAction, defineComponent };
