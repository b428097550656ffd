// Globals of workflow code, which need no import.
declare const defineComponent: typeof import("./index").defineComponent;
