// What is sent with every grade: the bench's code and style come with an element of their own, which Streamlit sends once.
export default (component) => {
  let close = () => {};
  const open = () => {
    close = document.annotatorWorkbench(component);
  };
  // The code may come later than this element, or after it is gone again.
  const late = () => component.parentElement.isConnected && open();
  if (document.annotatorWorkbench) open();
  else document.addEventListener("annotator-workbench", late, { once: true });
  return () => {
    document.removeEventListener("annotator-workbench", late);
    close();
  };
};
