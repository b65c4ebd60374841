// The editor of a task, as one script: `makeEditor`.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// after Escape, Tab leaves the field for so long
const LEAVE_MS = 3000;

/**
 * Put an editor in place of a textarea, with its text, its cursor, its label and description.
 * changed: called with the text after each change; submitted: called for Ctrl+Enter.
 * Returns {text(), replace(text)}.
 */
self.makeEditor = (textarea, changed, submitted) => {
  const attributes = { "aria-label": textarea.getAttribute("aria-label") };
  const described = textarea.getAttribute("aria-describedby");
  if (described) attributes["aria-describedby"] = described;
  const keys = [
    { key: "Mod-Enter", run: () => (submitted(), true) },
    { key: "Escape", run: (view) => (view.setTabFocusMode(LEAVE_MS), true) },
    { key: "Tab", run: indentMore, shift: indentLess },
    ...historyKeymap,
    ...defaultKeymap,
  ];
  const view = new EditorView({
    state: EditorState.create({
      doc: textarea.value,
      selection: { anchor: textarea.selectionStart, head: textarea.selectionEnd },
      extensions: [
        lineNumbers(),
        history(),
        indentOnInput(),
        bracketMatching(),
        indentUnit.of("    "),
        EditorState.tabSize.of(4),
        pythonLanguage,
        syntaxHighlighting(classHighlighter),
        keymap.of(keys),
        EditorView.contentAttributes.of(attributes),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  const focused = document.activeElement === textarea;
  textarea.replaceWith(view.dom);
  if (focused) view.focus();
  return {
    text: () => view.state.doc.toString(),
    replace: (text) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
  };
};
