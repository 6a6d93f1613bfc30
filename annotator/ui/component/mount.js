// What is sent with every grade: the bench's code and style come with an element of their own, which Streamlit sends once.
export default (component) => {
  let close = () => {};
  const open = () => {
    close = document.annotatorWorkbench(component);
  };
  if (document.annotatorWorkbench) open();
  else document.addEventListener("annotator-workbench", open, { once: true });
  return () => {
    document.removeEventListener("annotator-workbench", open);
    close();
  };
};
